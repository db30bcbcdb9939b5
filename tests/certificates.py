"""Certificates that no browser would take."""

from __future__ import annotations

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
    """Return what a server needs to speak TLS, with a certificate that it has given itself.

    *name* is the host that it is for: a name, or an address of this machine.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([_general_name(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    pem = serialization.Encoding.PEM
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:  # ssl reads it from files only
        file = Path(folder, "certificate.pem")
        private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
        file.write_bytes(private + certificate.public_bytes(pem))
        context.load_cert_chain(file)
    return context


def _general_name(name: str) -> x509.GeneralName:
    return x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
