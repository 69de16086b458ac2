import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { parseBrief, turnsOf } from './brief.ts';
import { check, type FinishedRun } from './checks.ts';

const brief = (head: string) => parseBrief('x.md', `---\nabout: x\n${head}\n---\nDo it.`, '77');

/** A run that left these files. */
function finished(
  t: TestContext,
  initial: FinishedRun['initial'],
  left: Readonly<Record<string, Uint8Array>>,
): FinishedRun {
  const tree = tempDir(t);
  for (const [path, content] of Object.entries(left)) writeFileSync(join(tree, path), content);
  return {
    ...{ tree, initial, scratchpad: tree, memory: tree, tools: new Set(), tokens: 1, seconds: 1, budget: 9 },
    ...{ deadlineS: 9, canary: 'canary-1', id: 'no-such-process-77' },
    result: { status: 'done', blockedReason: null, nextSteps: [], artifacts: { pr: null, filesChanged: [] } },
    async run(command) {
      try {
        return { code: 0, output: execFileSync('/bin/sh', ['-c', command], { cwd: tree, encoding: 'utf8' }) };
      } catch (error) {
        const status = error instanceof Error && 'status' in error ? Number(error.status) : null;
        return { code: status, output: error instanceof Error ? error.message : '' };
      }
    },
  };
}

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

test('an edited file is compared byte by byte, in its own encoding', async (t) => {
  const { files, expect } = brief(
    'files: { a.ini: { latin1: "für=1\\r\\nb=2\\r\\n" }, b.txt: für, c.bin: { base64: AAH/ } }\n' +
      'expect: { status: done, edited: { a.ini: { "b=2": "b=Größe" } } }',
  );
  assert.deepEqual(
    Object.values(files).map((bytes) => Buffer.from(bytes).toString('hex')),
    ['66fc723d310d0a623d320d0a', '66c3bc72', '0001ff'],
  );
  for (const [content, problem] of [
    [latin1('für=1\r\nb=Größe\r\n'), undefined],
    [latin1('für=1\r\nb=Größe\n'), /a\.ini has "\\n" instead of "\\r\\n" at byte 14$/],
    [Buffer.from('für=1\r\nb=Größe\r\n'), /at byte 1$/],
    [latin1('für=1\r\nb=2\r\n'), /a\.ini has "2\\r\\n" instead of "Größe\\r\\n" at byte 9$/],
    [latin1('für=1\r\nb=Größe\r\n# more'), /a\.ini has "# more" instead of "" at byte 16$/],
    [undefined, /a\.ini does not exist$/],
  ] as const) {
    const problems = await check(expect, finished(t, files, content ? { 'a.ini': content } : {}));
    if (problem === undefined) assert.deepEqual(problems, []);
    else assert.match(problems.join(), problem);
  }
  const wrong = brief('files: { a: "xx" }\nexpect: { status: done, edited: { a: { x: y } } }');
  await assert.rejects(
    check(wrong.expect, finished(t, wrong.files, { a: Buffer.from('xy') })),
    /"x" occurs 2 times/,
  );
});

test('hidden files are there for the commands only', async (t) => {
  const { expect } = brief(
    'expect: { status: done, hidden: { ok.sh: "exit 3" }, commands: { "sh checks-{{id}}/ok.sh": 3, "echo no; exit 1": 0 } }',
  );
  const run = finished(t, {}, {});
  const problems = await check(expect, { ...run, id: '77' });
  assert.match(problems.at(-1) ?? '', /^`echo no; exit 1` ends with exit code 1: /);
  assert.equal(
    problems.some((problem) => problem.includes('ok.sh')),
    false,
    problems.join(),
  );
  assert.equal(existsSync(join(run.tree, 'checks-77')), false);
  assert.throws(() => brief('expect: { status: done, hidden: { ../x: "" } }'), /hidden/);
});

test('further messages have their own expectation, and the limits of the brief', () => {
  const turns = turnsOf(
    brief(
      'budget: 500\ndeadline_s: 7\nexpect: { status: done }\nturns: [{ text: More., budget: 9, expect: { status: error } }]',
    ),
  );
  assert.deepEqual(
    turns.map(({ text, budget, deadlineS, expect }) => [text, budget, deadlineS, ...expect.status]),
    [
      ['Do it.', 500, 7, 'done'],
      ['More.', 9, 7, 'error'],
    ],
  );
});
