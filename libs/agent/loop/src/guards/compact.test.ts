import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isJsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { ToolResult } from '@hermes-fleet/protocol/ports';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { anchoredFiles } from '@hermes-fleet/workspace';
import fc from 'fast-check';
import { guarded, type Hooks } from '../../testing/guarded.ts';
import { type GuardState, newGuardState } from '../run/run-state.ts';
import { capText, summarize } from './cap-text.ts';

const KB = 1024;
const lines = (count: number, text = 'ok'): string =>
  Array.from({ length: count }, (_, at) => `${text} ${at + 1}\n`).join('');
const bytesOf = (value: JsonValue): number => Buffer.byteLength(JSON.stringify(value));
const textOf = (value: JsonValue | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? '');

function place(t: TestContext) {
  const dir = tempDir(t);
  return { dir, files: anchoredFiles(dir, false) };
}

async function shown(
  result: ToolResult,
  o: {
    hooks?: Hooks;
    files?: ReturnType<typeof anchoredFiles>;
    tool?: string;
    command?: string;
    maxOutputBytes?: number;
    state?: GuardState;
  } = {},
) {
  const { guards } = guarded(
    o.hooks,
    { files: o.files, maxOutputBytes: o.maxOutputBytes, log: silentLog },
    o.state,
  );
  const call = {
    tool: o.tool ?? 'shell_exec',
    input: { command: o.command ?? 'make' },
    key: '7.0',
    mutates: true,
  };
  const { output } = (await guards.after(call, result)).result;
  return isJsonObject(output) ? output : { text: output };
}

const ran = (exitCode: number, stdout: string, stderr = ''): ToolResult => ({
  ok: exitCode === 0,
  output: { exit_code: exitCode, ...(stdout && { stdout }), ...(stderr && { stderr }) },
  detail: 'make',
  exitCode,
});

test('a long output of a successful command becomes fewer than 20 lines, and the full text is kept', async (t) => {
  const { dir, files } = place(t);
  const output = lines(4000);
  const { exit_code: exitCode, stdout } = await shown(ran(0, output), { files });
  assert.equal(exitCode, 0);
  const seen = textOf(stdout).split('\n');
  assert.ok(seen.length < 20, String(seen.length));
  const [head = '', ...rest] = seen;
  assert.match(
    head,
    /^Command succeeded \(4000 lines of output, \d+ bytes; the full output is in \.scratch\/outputs\/task-7\.0\.txt\)\. First 5 lines:$/,
  );
  assert.deepEqual(rest.slice(0, 5), lines(5).trim().split('\n'));
  assert.match(rest[5] ?? '', /3985 lines left out/);
  assert.deepEqual(rest.slice(-10), lines(4000).trim().split('\n').slice(-10));
  assert.equal(readFileSync(join(dir, '.scratch/outputs/task-7.0.txt'), 'utf8'), output);
});

test('an output is summarized only above the limits of lines and bytes', async () => {
  assert.equal((await shown(ran(0, lines(50)))).stdout, lines(50));
  assert.match(textOf((await shown(ran(0, lines(51)))).stdout), /^Command succeeded \(51 lines/);
  assert.match(
    textOf((await shown(ran(0, lines(26), lines(26)))).stdout),
    /^Command succeeded/,
    'both streams count',
  );
  assert.equal((await shown(ran(0, lines(3)), { hooks: { compactOutputThreshold: 3 } })).stdout, lines(3));
  assert.match(
    textOf((await shown(ran(0, lines(4)), { hooks: { compactOutputThreshold: 3 } })).stdout),
    /^Command/,
  );
  const line = 'x'.repeat(8 * KB);
  assert.equal((await shown(ran(0, line))).stdout, line);
  const huge = textOf((await shown(ran(0, `${line}x`))).stdout);
  assert.match(huge, /^Command succeeded \(1 line of output, 8193 bytes/);
  assert.ok(huge.length < KB, String(huge.length));
});

test('a summary says when the full text could not be kept', async (t) => {
  const summary = async (
    files: ReturnType<typeof anchoredFiles> | undefined,
    state?: GuardState,
  ): Promise<string> =>
    textOf((await shown(ran(0, lines(100)), { ...(files && { files }), ...(state && { state }) })).stdout);
  assert.match(await summary(undefined), /; the full output was not kept\)/);
  const linked = place(t);
  symlinkSync(tmpdir(), join(linked.dir, '.scratch'));
  assert.match(await summary(linked.files), /could not be kept \(the path leads out of the workspace/);
  assert.ok(!existsSync(join(tmpdir(), 'outputs')));
  const blocked = place(t);
  mkdirSync(join(blocked.dir, '.scratch'));
  writeFileSync(join(blocked.dir, '.scratch', 'outputs'), '');
  assert.match(await summary(blocked.files), /could not be kept \(ENOTDIR\)/);
  const full = place(t);
  assert.match(
    await summary(full.files, { ...newGuardState(), spilled_bytes: 64 * KB * KB }),
    /the outputs of this task already take 67108864 bytes/,
  );
  assert.deepEqual(readdirSync(full.dir), []);
});

test('a failure is shown whole', async () => {
  const output = lines(1000, 'fails');
  assert.deepEqual(await shown(ran(2, output, 'why\n')), { exit_code: 2, stdout: output, stderr: 'why\n' });
});

test('a failure above 64 kB keeps its head, its tail, error lines between them, and a pointer to the full text', async (t) => {
  const { dir, files } = place(t);
  const noise = 'all is well here, nothing to be seen by anybody\n';
  const middle = 'AssertionError: 1 !== 2\n    at checks (a.ts:7)\n';
  const output = `first\n${noise.repeat(2000)}✖ the one test that matters\n${middle}${noise.repeat(2000)}last\n`;
  const { stdout } = await shown(ran(1, output), { files });
  const text = textOf(stdout);
  assert.ok(Buffer.byteLength(text) <= 64 * KB, String(Buffer.byteLength(text)));
  assert.match(text, /^first\n/);
  assert.match(text, /\nlast\n$/);
  assert.match(
    text,
    /left out; the full output is in \.scratch\/outputs\/task-7\.0\.txt; lines of them that may matter: …\]\n✖ the one test that matters\nAssertionError: 1 !== 2\n {4}at checks \(a\.ts:7\)\n/,
  );
  assert.equal(readFileSync(join(dir, '.scratch/outputs/task-7.0.txt'), 'utf8'), output);
});

test('both streams of a failure share the limit, and the shorter one stays whole', async () => {
  const both = await shown(ran(1, lines(50_000), 'why it failed\n'));
  assert.equal(both.stderr, 'why it failed\n');
  assert.ok(bytesOf(both) < 70 * KB);
  const long = await shown(ran(1, lines(50_000), lines(50_000)));
  assert.ok(Math.abs(textOf(long.stdout).length - textOf(long.stderr).length) < KB);
});

test('a model with a small context window gets a shorter failure', async () => {
  assert.ok(textOf((await shown(ran(1, lines(50_000)), { maxOutputBytes: 4 * KB })).stdout).length <= 4 * KB);
});

test('what a command reads on purpose is not summarized again', async (t) => {
  const { dir, files } = place(t);
  const long = lines(4000);
  const seen = async (command: string, output: string, exitCode = 0) =>
    textOf((await shown(ran(exitCode, output), { files, command })).stdout);
  assert.equal(await seen('cat .scratch/outputs/task-6.0.txt', lines(300)), lines(300));
  const page = lines(2000);
  assert.equal(await seen("sed -n '1,2000p' ./.scratch/outputs/task-6.0.txt", page), page, 'above 8 kB');
  const capped = await seen('cat .scratch/outputs/task-6.0.txt', long.repeat(4));
  assert.match(
    capped,
    /^ok 1\nok 2\n[\s\S]*left out; read it in parts, with sed -n or read_file[\s\S]*\nok 4000\n$/,
  );
  assert.ok(Buffer.byteLength(capped) <= 64 * KB);
  assert.deepEqual(readdirSync(dir), [], 'the file is not kept a second time');
  assert.equal(await seen('cat src/a.ts', lines(400)), lines(400), 'a page of any file');
  assert.match(await seen('cat src/a.ts', lines(501)), /^Command succeeded \(501 lines/);
  assert.match(await seen('cat .scratch/outputs/a.txt; make', lines(300)), /^Command succeeded/);
});

test('with compaction off, a success is shown like a failure', async () => {
  const hooks = { compactSuccessOutput: false };
  assert.equal((await shown(ran(0, lines(1000)), { hooks })).stdout, lines(1000));
  assert.ok(Buffer.byteLength(textOf((await shown(ran(0, lines(50_000)), { hooks })).stdout)) <= 64 * KB);
});

test('a long list of matches becomes its length and its first entries', async (t) => {
  const { dir, files } = place(t);
  const first = Array.from({ length: 100 }, (_, at) => `src/${at}.ts:1: match`);
  const output = { matches: 2000, files: 100, first };
  const seen = await shown({ ok: true, output, detail: 'x in .' }, { files, tool: 'grep_files' });
  assert.deepEqual([seen.matches, seen.files, seen.first], [2000, 100, first.slice(0, 10)]);
  assert.equal(seen.shown, 'the first 10 of 100; the full output is in .scratch/outputs/task-7.0.txt');
  assert.match(readFileSync(join(dir, '.scratch/outputs/task-7.0.txt'), 'utf8'), /src\/99\.ts/);
  const few = { matches: 2, files: 1, first: first.slice(0, 2) };
  assert.deepEqual(await shown({ ok: true, output: few }, { tool: 'grep_files' }), few);
});

test('a long answer of an MCP server is summarized; its failure and a page of a file are not', async () => {
  const { text } = await shown({ ok: true, output: lines(200) }, { tool: 'mcp__files__read' });
  assert.match(textOf(text), /^The call succeeded \(200 lines of output/);
  assert.deepEqual(await shown({ ok: false, output: lines(200) }, { tool: 'mcp__files__read' }), {
    text: lines(200),
  });
  const page = { content: lines(500), lines: 500 };
  assert.deepEqual(await shown({ ok: true, output: page }, { tool: 'read_file' }), page);
});

test('the model sees at most 64 kB of any tool output', async () => {
  for (const tool of ['a2a_call', 'mcp__x__y', 'grep_files', 'delegate']) {
    for (const output of [
      'x'.repeat(300 * KB),
      { a: { b: 'y'.repeat(300 * KB) } },
      Array(50_000).fill('entry'),
      [lines(90_000)],
    ]) {
      for (const ok of [true, false]) {
        const { text, ...rest } = await shown({ ok, output }, { tool });
        assert.ok(bytesOf(textOf(text)) + bytesOf(rest) <= 80 * KB, `${tool} ${typeof output} ${ok}`);
      }
    }
  }
});

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 3000 }),
  fc
    .array(fc.constantFrom('ok', 'error: no', '', 'ü€𝄞'.repeat(40), 'x'.repeat(900), '✖ a'), {
      maxLength: 400,
    })
    .map((all) => all.join('\n')),
);

test('a capped text stays within its limit, keeps its beginning, and is unchanged if it fits', () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 0, max: 5000 }), (text, max) => {
      const cut = capText(text, max, 'the whole of it is elsewhere');
      assert.ok(Buffer.byteLength(cut) <= max || cut === text);
      if (Buffer.byteLength(text) <= max) assert.equal(cut, text);
      else assert.ok(!cut.includes('\ufffd') || text.includes('\ufffd') || !text.isWellFormed());
    }),
    { numRuns: 500 },
  );
});

test('a summary of any text has fewer than 20 lines and 8 kB', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const summary = summarize('Command succeeded', text, 'the whole of it is elsewhere');
      assert.ok(summary.split('\n').length < 20);
      assert.ok(summary.length < 8 * KB);
    }),
  );
});
