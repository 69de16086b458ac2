import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';

/** A `docker` on a PATH of its own: this shell script, which sees its calls in `$at/calls`, one a line with each word in brackets. */
export function fakeDocker(t: TestContext, script: string) {
  const at = tempDir(t, { prefix: 'docker-' });
  const body = `#!/bin/sh
at='${at}'
for word; do printf '[%s]' "$word"; done >>"$at/calls"
echo >>"$at/calls"
${script}
`;
  writeFileSync(join(at, 'docker'), body, { mode: 0o755 });
  const calls = (): string[] => {
    const text = existsSync(join(at, 'calls')) ? readFileSync(join(at, 'calls'), 'utf8') : '';
    return text.split('\n').filter((line) => line !== '');
  };
  return { at, calls, env: { ...process.env, PATH: `${at}:${process.env.PATH}` } };
}
