"""The paper's own calculations that no command needs: replica symmetry at finite m, breaking within a support."""
