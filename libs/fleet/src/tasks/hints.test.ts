import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseHints } from './hints.ts';

describe('the inline hint block', () => {
  it("reads the source's example", () => {
    const text = [
      'TASK DISPATCH (inline)',
      'priority: high',
      'reply_schema: structured',
      'token_budget: 4000',
      'required_mcp: [context_mode]',
      'Brief: Refactor the auth module...',
    ].join('\n');
    assert.deepEqual(parseHints(text), {
      brief: 'Refactor the auth module...',
      task: { priority: 'high', reply_schema: 'structured', token_budget: 4000 },
      requirements: { required_mcp: ['context_mode'] },
      deadline: undefined,
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
mood: good
Brief: First line
and a second: one`;
    assert.deepEqual(parseHints(text), {
      brief: 'Hello neo,\nFirst line\nand a second: one',
      task: { task_id: 'abc-1', write: false },
      requirements: { required_capabilities: ['terminal', 'file'], required_mcp: [] },
      deadline: '2026-05-31T21:00:00Z',
    });
  });

  it('ends at the first line that is no hint, where there is no Brief', () =>
    assert.equal(parseHints('TASK DISPATCH (inline)\npriority: low\n\nTidy up.')?.brief, 'Tidy up.'));

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

  it('keeps the brief whole, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (brief) => {
        const found = parseHints(`TASK DISPATCH (inline)\npriority: low\nBrief: ${brief}`);
        assert.equal(found?.brief, brief.replaceAll('\r\n', '\n').trim());
        assert.deepEqual(found?.task, { priority: 'low' });
      }),
    );
  });
});
