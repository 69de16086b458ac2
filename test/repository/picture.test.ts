import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRun } from '../../docs/picture/read-run.ts';
import { renderDemo } from '../../docs/picture/render.ts';
import { drawSequence } from '../../docs/picture/sequence.ts';
import { lineOf } from '../../libs/cli/src/task/live-task.ts';
import { doc, fenced } from '../support/docs.ts';

const output = doc('docs/picture/demo.txt');

test('the picture of the README is drawn from the run that is committed beside it', () => {
  assert.equal(doc('docs/picture/demo.svg'), renderDemo(output), 'node docs/picture/draw.ts draws it again');
});

test('the answers that the README shows are those of the same run', () => {
  const { routed, blocked } = readRun(output);
  const [done, refused] = fenced(doc('README.md'), 'json').map((block) => JSON.parse(block));
  assert.deepEqual(
    [done.status, done.tokens_spent, done.artifacts.files_changed.join(', '), done.executed_by],
    [routed.status, routed.tokens, routed.files, routed.worker],
  );
  assert.deepEqual(
    [refused.status, refused.tokens_spent, refused.blocked_reason],
    [blocked.status, blocked.tokens, blocked.reason],
  );
});

test('a run without a step, with an empty step or with a failure is not drawn', () => {
  const cases: [string, RegExp][] = [
    [output.replace('Blocked: ', 'Other: '), /no step "Blocked"/],
    [output.replace(/^ {2}worker .*\n/m, ''), /no "worker" in: Routed/],
    [output.replace(/^ {2}neo .*$/m, ''), /does not show neo/],
    [`${output}  NOT AS EXPECTED: the status is partial\n`, /went wrong: .*partial/],
  ];
  for (const [run, says] of cases) assert.throws(() => renderDemo(run), says);
});

test('a text that does not fit is refused or cut, and never breaks the SVG', () => {
  const draw = (text: string, remark: string): string =>
    drawSequence({
      title: 't',
      description: 'd',
      heading: 'h',
      source: 's',
      lanes: [
        { name: 'a', note: '', x: 100 },
        { name: 'b', note: '', x: 300 },
      ],
      bands: [{ title: 'b', note: 'n', rows: [{ from: 'a', to: 'b', text, tone: 'plain', remark }] }],
    });
  assert.match(draw('<a & "b">', ''), />&lt;a &amp; &quot;b&quot;&gt;</);
  assert.throws(() => draw('x'.repeat(40), ''), /does not fit between a and b/);
  assert.match(draw('', 'y'.repeat(500)), />y{50,150}…</);
});

test('the recording of fleet send has the lines that its live view draws', () => {
  const blocks = fenced(doc('docs/cli.md'), 'text');
  const run = blocks.find((block) => block.includes('$ ./fleet send ')) ?? '';
  const lines = run.split('\n').filter((line) => /^(working|completed) /.test(line));
  assert.ok(lines.length >= 5, run);
  for (const line of lines) {
    const [, state = '', peer, tool, spent, budget, seconds] =
      /^(\w+) +(?:at (\w+) {2})?(?:(\w+) {2}(?=\S))?(?:[█░]{10} (\d+)\/(\d+) tokens {2})?(\d+) s of 10 min$/.exec(
        line,
      ) ?? [];
    const task = { id: 't', contextId: 'c', state, peer, tool, spent: Number(spent ?? 0) };
    const view = budget === undefined ? task : { ...task, budget: Number(budget) };
    const elapsedMs = Number(seconds) * 1000;
    assert.equal(lineOf(view, { elapsedMs, deadlineMs: 600_000, width: 100, colours: false }), line);
  }
  assert.match(run, /^task (\S+) in context (\S+)\n[\s\S]* {2}task {7}\1\n {2}context {4}\2\n/m);
});
