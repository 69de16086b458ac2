/** Options for tests that wait: a wait that never ends fails instead of hanging. */
export const deadline = { timeout: 120_000 };
