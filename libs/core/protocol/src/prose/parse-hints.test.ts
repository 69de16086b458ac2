import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseHints } from './parse-hints.ts';

const block = (...lines: string[]) => parseHints(['TASK DISPATCH (inline)', ...lines].join('\n'));

describe('the inline hint block', () => {
  it('parses an example', () => {
    const hints = block(
      'priority: high',
      'reply_schema: structured',
      'token_budget: 4000',
      'required_mcp: [context_mode]',
      'Brief: Refactor the auth module...',
    );
    assert.deepEqual(hints, {
      brief: 'Refactor the auth module...',
      task: { priority: 'high', reply_schema: 'structured', token_budget: 4000 },
      requirements: { required_mcp: ['context_mode'] },
      top: {},
    });
  });

  it('parses lists, quotes, comments and a deadline, and ignores unknown hints', () => {
    const text = `Hello neo,
TASK DISPATCH (inline)
task_id: "abc-1"
write: false   # look only
required_capabilities: ['terminal', file]
required_mcp: []
deadline: 2026-05-31T21:00:00Z
protocol_version: 2.0
mood: good
Brief: First line
and a second: one`;
    assert.deepEqual(parseHints(text), {
      brief: 'Hello neo,\nFirst line\nand a second: one',
      task: { task_id: 'abc-1', write: false },
      requirements: { required_capabilities: ['terminal', 'file'], required_mcp: [] },
      top: { deadline: '2026-05-31T21:00:00Z', protocol_version: '2.0' },
    });
  });

  it('ends before the first line that is not a hint, if there is no Brief', () => {
    assert.equal(block('priority: low', '', 'Tidy up.')?.brief, 'Tidy up.');
    assert.equal(block('priority: low', '', 'note: tidy up.')?.brief, 'note: tidy up.');
  });

  it('parses values of several lines, and skips blank lines between hints', () => {
    const hints = block(
      '',
      'required_mcp:',
      '  - a',
      '  - "b, c"',
      'required_capabilities:',
      '- file',
      '',
      'model_tier:',
      '  min: haiku',
      '  prefer: opus',
      '',
      'Brief:',
      'Go.',
    );
    assert.deepEqual(hints?.requirements, {
      required_mcp: ['a', 'b, c'],
      required_capabilities: ['file'],
      model_tier: { min: 'haiku', prefer: 'opus' },
    });
    assert.equal(hints?.brief, 'Go.');
  });

  const VALUES: readonly [string, unknown][] = [
    ['task_id: 0123', '0123'],
    ['task_id: null', 'null'],
    ['task_id: "a: b # c"', 'a: b # c'],
    ['priority:high', 'high'],
    ['token_budget: many', 'many'],
    ['token_budget: .inf', '.inf'],
    ['write: yes', 'yes'],
    ['write: false', false],
    ['required_mcp: a, b', ['a', 'b']],
    ['required_mcp: [1, true, no]', ['1', 'true', 'no']],
    ['required_mcp: [a', '[a'],
    ['output_schema: {type: object}', { type: 'object' }],
    ['output_schema: {"type": "object"}', { type: 'object' }],
  ];
  for (const [line, value] of VALUES)
    it(`parses ${line}`, () => {
      const hints = block(line);
      assert.deepEqual(Object.values({ ...hints?.task, ...hints?.requirements }), [value]);
    });

  for (const hostile of [
    '&a [*a]',
    '*a',
    '!!binary aGk=',
    '!!js/function x',
    '{__proto__: {polluted: true}}',
    '{? {a: b} : c}',
    '['.repeat(5_000),
    `${'['.repeat(2_000)}${']'.repeat(2_000)}`,
    `[${'a,'.repeat(20_000)}]`,
    `{"a": ${'['.repeat(3_000)}${']'.repeat(3_000)}}`,
    `"${'x'.repeat(70_000)}`,
  ])
    it(`leaves a value that is not plain as text: ${hostile.slice(0, 30)}`, () => {
      assert.deepEqual(block(`output_schema: ${hostile}`)?.task, { output_schema: hostile });
      assert.equal('polluted' in {}, false);
    });

  for (const text of [
    'priority: high\nBrief: x',
    'About TASK DISPATCH (inline)\npriority: high',
    '```\nTASK DISPATCH (inline)\npriority: high\n```',
    '~~~~ yaml\n```\nTASK DISPATCH (inline)\n~~~~',
  ])
    it(`is not found in ${JSON.stringify(text)}`, () => assert.equal(parseHints(text), undefined));

  it('is found after a closed fence', () =>
    assert.deepEqual(parseHints('```\ncode\n```\nTASK DISPATCH (inline)\npriority: low')?.task, {
      priority: 'low',
    }));

  it('may have CRLF line ends', () =>
    assert.deepEqual(parseHints('TASK DISPATCH (inline)\r\npriority: low\r\nBrief: a\r\nb\r\n'), {
      brief: 'a\r\nb',
      task: { priority: 'low' },
      requirements: {},
      top: {},
    }));

  it('keeps any brief unchanged', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (brief) => {
        const found = block('priority: low', `Brief: ${brief}`);
        assert.equal(found?.brief, brief.trim());
        assert.deepEqual(found?.task, { priority: 'low' });
      }),
    );
  });

  it('never throws, and has a limited number of lines', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...':[]{}"\'\n -#&*!|>a,`'), maxLength: 300 }),
        (text) => {
          block(`output_schema: ${text}`, `required_mcp: ${text}`, text);
        },
      ),
    );
    const large = `TASK DISPATCH (inline)\n${'write: [a, b]\n'.repeat(100_000)}`;
    assert.match(parseHints(large)?.brief ?? '', /^write: /);
  });
});
