import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { failure, type Git, saidBy } from '../git/git.ts';
import type { Part } from './build-on.ts';

export interface WrittenBundle {
  readonly sha256: string;
  readonly bytes: number;
}

/**
 * Writes a part of a history as a git bundle (https://git-scm.com/docs/gitformat-bundle). Unlike those of `git bundle`, its pack has each
 * object whole or beside what it is a delta of, so that the receiver can check it alone. Throws `tooLarge` beyond `maxBytes`, and as `Git`.
 */
export async function writeBundle(
  git: Git,
  file: string,
  { commit, prerequisites, without }: Part,
  { maxBytes, tooLarge }: { readonly maxBytes: number; readonly tooLarge: () => Error },
): Promise<WrittenBundle> {
  const header = [
    '# v2 git bundle',
    ...prerequisites.map((each) => `-${each}`),
    `${commit} refs/heads/fleet`,
    '\n',
  ].join('\n');
  const hash = createHash('sha256').update(header);
  let bytes = header.length;
  async function* counted(chunks: Readable): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge();
      hash.update(chunk);
      yield chunk;
    }
  }
  await writeFile(file, header, { mode: 0o600 });
  const { code, stderr } = await git.exec(
    ['pack-objects', '--revs', '--stdout', '-q', '--delta-base-offset'],
    {
      input: `${[commit, ...without.map((each) => `^${each}`)].join('\n')}\n`,
      output: (stdout) => pipeline(stdout, counted, createWriteStream(file, { flags: 'a' })),
    },
  );
  if (code !== 0) throw failure(`git cannot pack the commits: ${saidBy(stderr)}`);
  return { sha256: hash.digest('hex'), bytes };
}
