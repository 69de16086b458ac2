/** The two headline counters of one profile, or of several together. */
export interface Counters {
  readonly tokens: number;
  readonly blocked: number;
}

/** Reads them from the text of `/metrics`. */
export function readCounters(text: string): Counters {
  return {
    tokens: sum(text, /^fleet_tokens_spent_total\{[^}]*\} (\S+)$/gm),
    blocked: sum(text, /^fleet_task_admissions_total\{[^}]*decision="blocked"[^}]*\} (\S+)$/gm),
  };
}

export function addCounters(all: readonly Counters[]): Counters {
  return all.reduce(
    (total, { tokens, blocked }) => ({ tokens: total.tokens + tokens, blocked: total.blocked + blocked }),
    { tokens: 0, blocked: 0 },
  );
}

const sum = (text: string, pattern: RegExp): number =>
  [...text.matchAll(pattern)].reduce((total, [, value]) => total + Number(value), 0);
