import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseHints } from './parse-hints.ts';

const block = (...lines: string[]) => parseHints(['TASK DISPATCH (inline)', ...lines].join('\n'));

describe('the inline hint block', () => {
  it("reads the source's example", () => {
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

  it('reads lists, quotes, comments, a deadline, and passes over what it does not know', () => {
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

  it('ends at the first line that is no hint, where there is no Brief', () => {
    assert.equal(block('priority: low', '', 'Tidy up.')?.brief, 'Tidy up.');
    assert.equal(block('priority: low', '', 'note: tidy up.')?.brief, 'note: tidy up.');
  });

  it('reads values over several lines, and passes over blank lines between hints', () => {
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
    it(`reads ${line}`, () => {
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
    it(`leaves a value alone that is no plain one: ${hostile.slice(0, 30)}`, () => {
      assert.deepEqual(block(`output_schema: ${hostile}`)?.task, { output_schema: hostile });
      assert.equal('polluted' in {}, false);
    });

  for (const text of [
    'priority: high\nBrief: x',
    'About TASK DISPATCH (inline)\npriority: high',
    '```\nTASK DISPATCH (inline)\npriority: high\n```',
    '~~~~ yaml\n```\nTASK DISPATCH (inline)\n~~~~',
  ])
    it(`finds none in ${JSON.stringify(text)}`, () => assert.equal(parseHints(text), undefined));

  it('finds one after a closed fence', () =>
    assert.deepEqual(parseHints('```\ncode\n```\nTASK DISPATCH (inline)\npriority: low')?.task, {
      priority: 'low',
    }));

  it('reads a block with the line ends of another system', () =>
    assert.deepEqual(parseHints('TASK DISPATCH (inline)\r\npriority: low\r\nBrief: a\r\nb\r\n'), {
      brief: 'a\r\nb',
      task: { priority: 'low' },
      requirements: {},
      top: {},
    }));

  it('keeps the brief whole, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (brief) => {
        const found = block('priority: low', `Brief: ${brief}`);
        assert.equal(found?.brief, brief.trim());
        assert.deepEqual(found?.task, { priority: 'low' });
      }),
    );
  });

  it('never throws, and is bounded in its number of lines', () => {
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
