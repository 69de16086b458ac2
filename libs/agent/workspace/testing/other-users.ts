import { chmodSync, copyFileSync, statSync } from 'node:fs';
import { dirname, join, parse } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';

const MAY_ENTER = 0o001;

/** Why other users cannot use what lies at this path, with what to do about it, or false. */
export function closedToOthers(path: string): string | false {
  for (let folder = dirname(path); folder !== parse(folder).root; folder = dirname(folder)) {
    if ((statSync(folder).mode & MAY_ENTER) === 0)
      return `other users cannot enter ${folder}: clone elsewhere, or chmod o+x it, to run this test`;
  }
  return false;
}

/** This Node where every user may run it: the file itself, or a copy of it. */
export function nodeForOthers(t: TestContext): string {
  if (closedToOthers(process.execPath) === false) return process.execPath;
  const folder = tempDir(t);
  chmodSync(folder, 0o755);
  const copy = join(folder, 'node');
  copyFileSync(process.execPath, copy);
  return copy;
}
