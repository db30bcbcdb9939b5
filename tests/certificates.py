"""Certificates that no browser accepts."""

from __future__ import annotations

import inspect
import ssl
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@cache
def self_signed(name: str = "another.example") -> ssl.SSLContext:
    """Return an SSL context for a server, with a self-signed certificate.

    *name* is the certificate's host: a name, or an address of this machine.
    """
    return _context(self_signed_pem(name))


def self_signed_pem(name: str) -> bytes:
    """Return a self-signed certificate after its private key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        _begun(subject, subject, key)
        .add_extension(x509.SubjectAlternativeName([_general_name(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _pem(key, certificate)


class Authority:
    """Issues certificates for any host, for clients that trust this authority."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority.example")])
        usage = dict.fromkeys(inspect.signature(x509.KeyUsage).parameters, False) | {"key_cert_sign": True}
        self._certificate = (
            _begun(self._name, self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.KeyUsage(**usage), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self._servers: dict[str, ssl.SSLContext] = {}

    @property
    def certificate(self) -> bytes:
        """The certificate of the authority, as PEM."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def server(self, name: str) -> ssl.SSLContext:
        """Return an SSL context for a server of the host *name*."""
        if name not in self._servers:
            key = ec.generate_private_key(ec.SECP256R1())
            by = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
            certificate = (
                _begun(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), self._name, key)
                .add_extension(x509.SubjectAlternativeName([_general_name(name)]), critical=False)
                .add_extension(by, critical=False)
                .sign(self._key, hashes.SHA256())
            )
            self._servers[name] = _context(_pem(key, certificate))
        return self._servers[name]


def _begun(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
    )


def _pem(key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> bytes:
    plain = serialization.NoEncryption()
    pem = serialization.Encoding.PEM
    return key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain) + certificate.public_bytes(pem)


def _context(pem: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:  # ssl reads certificates only from files
        file = Path(folder, "certificate.pem")
        file.write_bytes(pem)
        context.load_cert_chain(file)
    return context


def _general_name(name: str) -> x509.GeneralName:
    return x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
