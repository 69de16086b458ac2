import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunOutcome, TaskResults } from '@hermes-fleet/protocol/ports';
import { DONE, type Script } from './scripts.ts';
import type { TestProfile } from './test-profile.ts';

export const DELIVERY = {
  repository: 'web',
  branch: 'fleet/c',
  commit: 'c'.repeat(40),
  base: 'b'.repeat(40),
  state: 'kept' as const,
};

/** An outcome with files in a repository. */
export const delivering = (delivery: object = {}): RunOutcome => ({
  ...DONE,
  artifacts: { filesChanged: ['a.ts'], delivery: { ...DELIVERY, ...delivery } },
});

export const delivers: Script = async () => delivering();

export interface FileResults extends TaskResults {
  /** How many files are not disposed of. */
  readonly left: () => number;
  /** Called before each read; throws to refuse it. */
  onRead: (signal: AbortSignal) => void | Promise<void>;
  /** What every part has from now on; default: the JSON of what was asked for. */
  content: Buffer | undefined;
}

/** Results of which each part is a file of the folder. */
export function fileResults(dir: string): FileResults {
  let count = 0;
  const read = async (asked: object, signal: AbortSignal) => {
    await results.onRead(signal);
    const file = join(dir, `${count}`);
    count += 1;
    const content = results.content ?? Buffer.from(JSON.stringify(asked));
    writeFileSync(file, content);
    return {
      path: file,
      bytes: content.length,
      [Symbol.asyncDispose]: async () => rmSync(file),
    };
  };
  const results: FileResults = {
    left: () => readdirSync(dir).length,
    onRead: () => undefined,
    content: undefined,
    diff: (result, { path, stat, signal }) => read({ diff: result, path, stat }, signal),
    file: (result, path, { signal }) => read({ file: result, path }, signal),
    bundle: (result, { whole, signal }) => read({ bundle: result, whole }, signal),
  };
  return results;
}

/** Gets an address of a serving profile, as the operator unless told. */
export function getAt(
  of: Pick<TestProfile, 'name' | 'port'>,
  path: string,
  caller = 'operator',
): Promise<Response> {
  return fetch(`http://127.0.0.1:${of.port}${path}`, {
    headers: { authorization: `Bearer token-of-${caller}-for-${of.name}` },
    signal: AbortSignal.timeout(20_000),
  });
}

// biome-ignore lint/suspicious/noExplicitAny: the body of a reply under test has no type of its own
export const jsonOf = async (answer: Promise<Response> | Response): Promise<any> => (await answer).json();

/** Status, code and message of an error. */
export async function errorOf(answer: Promise<Response> | Response): Promise<[number, string, string]> {
  const response = await answer;
  const { error } = await jsonOf(response);
  return [response.status, error.code, error.message];
}
