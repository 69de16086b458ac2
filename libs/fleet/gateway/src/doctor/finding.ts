import type { Answer, Finding as Schema } from '@hermes-fleet/protocol/api';

/** A finding of `fleet doctor`: about `configuration`, `model`, `commands`, a repository, `spending`, a peer's name, or `nats`. */
export type Finding = Answer<typeof Schema>;

export type FindingList = ReturnType<typeof findingsOn>;

/** Collects the findings about one subject, in order. */
export function findingsOn(subject: string) {
  const all: Finding[] = [];
  const add =
    (state: Finding['state']) =>
    (check: string, detail: string, fix?: string): void =>
      void all.push({ subject, check, state, detail, ...(fix === undefined ? {} : { fix }) });
  return { all, ok: add('ok'), warning: add('warning'), failed: add('failed'), skipped: add('skipped') };
}

/** The URL without the parts that may contain a password or token. */
export function shownUrl(url: string): string {
  const shown = new URL(url);
  [shown.username, shown.password, shown.search, shown.hash] = ['', '', '', ''];
  return shown.href;
}
