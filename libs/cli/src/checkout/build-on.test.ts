import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import fc from 'fast-check';
import { GIT_ENV, git } from '../../testing/results-stub.ts';
import { createGit } from '../git/git.ts';
import { buildOn } from './build-on.ts';
import { writeBundle } from './write-bundle.ts';

/** A commit of a random history: how far back its parents are, and the file that it changes. */
const Step = fc.record({
  parents: fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { maxLength: 3 }),
  file: fc.constantFrom('a', 'deep/b', 'deep/er/c', 'd e'),
  content: fc.constantFrom('one', 'two', 'three'),
});
const History = fc.record({
  steps: fc.array(Step, { minLength: 1, maxLength: 12 }),
  /** Which commits were sent before, and which a configured repository has, counted from the end. */
  sent: fc.uniqueArray(fc.integer({ min: 0, max: 11 }), { maxLength: 4 }),
  pushed: fc.option(fc.integer({ min: 0, max: 11 }), { nil: undefined }),
  head: fc.integer({ min: 0, max: 3 }),
});

/** The commits as `git fast-import` takes them. */
const stream = (steps: readonly (typeof Step extends fc.Arbitrary<infer S> ? S : never)[]): string =>
  steps
    .map(({ parents, file, content }, at) => {
      const [from, ...merge] = parents.filter((back) => back <= at).map((back) => `:${at - back + 1}\n`);
      const who = `committer Ann <ann@example.org> ${1_700_000_000 + at * 60} +0000`;
      return [
        `commit refs/heads/at-${at}\nmark :${at + 1}\n${who}\ndata 1\n${at % 10}\n`,
        from ? `from ${from}` : '',
        ...merge.map((each) => `merge ${each}`),
        `M 100644 inline "${file}"\ndata ${content.length}\n${content}\n`,
      ].join('');
    })
    .join('');

test('a bundle and what it builds on restore a commit with its whole history, and it never has less than one commit', async (t) => {
  const root = tempDir(t, { prefix: 'fleet-bundle-' });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(History, async ({ steps, sent, pushed, head }) => {
      run += 1;
      const [mine, theirs] = [join(root, `mine-${run}`), join(root, `theirs-${run}`)];
      for (const dir of [mine, theirs]) git(root, 'init', '--quiet', '--bare', dir);
      execFileSync('git', ['fast-import', '--quiet'], { cwd: mine, input: stream(steps) });
      const commits = git(mine, 'for-each-ref', '--format=%(objectname)', '--sort=-creatordate').split('\n');
      const commitAt = (back: number) => commits[back % commits.length] ?? '';
      const commit = commitAt(head);
      const known = [...new Set(sent.map(commitAt))].filter((each) => each !== commit);
      if (pushed !== undefined) git(mine, 'update-ref', 'refs/remotes/origin/main', commitAt(pushed));
      const repository = { name: 'web', url: 'x', base: 'main' };
      const remote = pushed === undefined ? undefined : { remote: 'origin', repository };
      const own = createGit({ ...process.env, ...GIT_ENV }, mine, new AbortController().signal);
      const part = await buildOn(own, commit, [...known, 'f'.repeat(40)], remote);
      const limit = { maxBytes: 1_000_000, tooLarge: () => new Error('too large') };
      const file = join(root, `bundle-${run}`);
      await writeBundle(own, file, part, limit);

      const pushedOnes = pushed === undefined ? [] : git(mine, 'rev-list', commitAt(pushed)).split('\n');
      for (const each of part.prerequisites) {
        assert.ok(known.includes(each) || pushedOnes.includes(each), 'what it builds on was sent or pushed');
        git(theirs, 'fetch', '--quiet', mine, `${each}:refs/known/${each}`);
      }
      git(theirs, 'fetch', '--quiet', file, 'refs/heads/fleet:refs/heads/fleet');
      assert.equal(
        git(theirs, 'rev-list', '--objects', 'refs/heads/fleet'),
        git(mine, 'rev-list', '--objects', commit),
      );
      git(theirs, 'fsck', '--strict');
      assert.ok(part.commit === commit && !part.prerequisites.includes(commit));
    }),
    { numRuns: 20 },
  );
});
