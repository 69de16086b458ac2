import type { Answer, Finding as Schema } from '@hermes-fleet/protocol/api';

/** A finding of `fleet doctor`: about `configuration`, `model`, `commands`, `spending`, a peer's name, or `nats`. */
export type Finding = Answer<typeof Schema>;

/** Collects the findings about one subject, in order. */
export interface FindingList {
  readonly all: readonly Finding[];
  add(check: string, state: Finding['state'], detail: string, fix?: string): void;
}

export function findingsOn(subject: string): FindingList {
  const all: Finding[] = [];
  return {
    all,
    add: (check, state, detail, fix) =>
      void all.push({ subject, check, state, detail, ...(fix === undefined ? {} : { fix }) }),
  };
}

/** The URL without the parts that may contain a password or token. */
export function shownUrl(url: string): string {
  const shown = new URL(url);
  [shown.username, shown.password, shown.search, shown.hash] = ['', '', '', ''];
  return shown.href;
}
