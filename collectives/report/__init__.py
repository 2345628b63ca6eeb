# SPDX-License-Identifier: Apache-2.0
"""What runs and measurements leave, as text, documents, tables, pictures and pages."""
