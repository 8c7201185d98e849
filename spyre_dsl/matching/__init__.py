"""Matching: compiled patterns, scopes and guards over canonical graphs."""
