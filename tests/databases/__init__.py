"""Tests of the tables of databases, each with a real one."""
