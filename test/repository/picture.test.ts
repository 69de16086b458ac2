import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCast, writeCast } from '../../docs/picture/cast.ts';
import { readRun } from '../../docs/picture/read-run.ts';
import { renderDemo } from '../../docs/picture/render.ts';
import { renderCast } from '../../docs/picture/render-cast.ts';
import { drawSequence } from '../../docs/picture/sequence.ts';
import { createTerminal } from '../../docs/picture/terminal-rows.ts';
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

const recording = readCast(doc('docs/picture/send.cast'));

test('the picture of fleet send is drawn from the recording that is committed beside it', () => {
  assert.equal(
    doc('docs/picture/send.svg'),
    renderCast(recording),
    'node docs/picture/draw.ts draws it again',
  );
});

test('the recording of fleet send has the lines that its live view draws, the menu of Ctrl-C, and the result', () => {
  const terminal = createTerminal();
  const lines = new Set<string>();
  const screen = (): string[] => terminal.rows().map((runs) => runs.map(({ text }) => text).join(''));
  for (const [, text] of recording.output) {
    terminal.write(text);
    for (const line of screen()) lines.add(line);
  }
  const views = [...lines].filter((line) => /^(working|completed) .* of 10 min$/.test(line));
  assert.ok(views.length >= 5);
  for (const line of views) {
    const [, state = '', peer, tool, spent, budget, seconds] =
      /^(\w+) +(?:at (\w+) {2})?(?:(\w+) {2}(?=\S))?(?:[█░]{10} (\d+)\/(\d+) tokens {2})?(\d+) s of 10 min$/.exec(
        line,
      ) ?? [];
    const task = { id: 't', contextId: 'c', state, peer, tool, spent: Number(spent ?? 0) };
    const view = budget === undefined ? task : { ...task, budget: Number(budget) };
    const elapsedMs = Number(seconds) * 1000;
    assert.equal(lineOf(view, { elapsedMs, deadlineMs: 600_000, width: 120, colours: false }), line);
  }
  for (const option of ['detach: it goes on', 'cancel it', 'go on watching'])
    assert.ok(
      [...lines].some((line) => line.includes(`● ${option}`)),
      option,
    );
  const end = screen().join('\n');
  assert.match(end, /^task (\S+) in context (\S+)\n[\s\S]* {2}task {7}\1\n {2}context {4}\2$/m);
});

test('a drawn terminal moves, erases and colours as a terminal does, and refuses what it does not know', () => {
  const drawn = (text: string) => {
    const terminal = createTerminal();
    terminal.write(text);
    return terminal
      .rows()
      .map((runs) => runs.map(({ text: part, colour }) => `${colour ?? ''}:${part}`).join('|'));
  };
  assert.deepEqual(drawn('one\r\n\u001b[32mtwo\u001b[39m three'), [':one', '32:two|: three']);
  assert.deepEqual(drawn('one\r\u001b[2Ktwo'), [':two']);
  assert.deepEqual(drawn('a\r\nb\r\nc\u001b[2A\u001b[J'), [':a']);
  assert.deepEqual(drawn('abc\u001b[2DX\u001b[K'), [':aX']);
  assert.deepEqual(drawn('a\u001b[2Cb'), [':a  b']);
  for (const [text, says] of [
    ['\u001b[5m', /look 5/],
    ['\u001b[3P', /control code 3P/],
    ['\t', /"\\t"/],
  ] as const)
    assert.throws(() => drawn(text), says);
});

test('a recording keeps its output and its times, and its text cannot break the SVG', () => {
  const cast = {
    width: 20,
    height: 2,
    title: 'a & b',
    output: [
      [0, '<i>'],
      [1.5, '\r\u001b[2K&'],
    ] as [number, string][],
  };
  assert.deepEqual(readCast(writeCast(cast)), cast);
  const svg = renderCast(cast);
  assert.match(svg, /<title id="title">a &amp; b<\/title>/);
  assert.match(svg, /class="t0" [^>]*>&lt;i&gt;<\/text>/);
  assert.match(svg, /class="t1 end" [^>]*>&amp;<\/text>/);
  assert.match(
    svg,
    /@keyframes t0\{0%\{visibility:hidden\}0\.000%\{visibility:visible\}20\.000%\{visibility:hidden\}\}/,
  );
});
