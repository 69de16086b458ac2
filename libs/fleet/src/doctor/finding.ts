/** What a check of `fleet doctor` found. */
export interface Finding {
  /** What was looked at: `configuration`, a peer's name, `nats`. */
  readonly subject: string;
  readonly check: string;
  /** `warning`: it works, and should be looked at. `skipped`: not tried, for the reason in `detail`. */
  readonly state: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  /** What to do about it, where it is not in `detail` already. */
  readonly fix?: string;
}

/** Notes findings about one subject, in the order in which they were made. */
export interface Notes {
  readonly findings: readonly Finding[];
  note(check: string, state: Finding['state'], detail: string, fix?: string): void;
}

export function notesOn(subject: string): Notes {
  const findings: Finding[] = [];
  return {
    findings,
    note: (check, state, detail, fix) =>
      void findings.push({ subject, check, state, detail, ...(fix === undefined ? {} : { fix }) }),
  };
}

/** An address as a report may show it: what may hold a password or a token is left out. */
export function shownUrl(url: string): string {
  const shown = new URL(url);
  [shown.username, shown.password, shown.search, shown.hash] = ['', '', '', ''];
  return shown.href;
}
