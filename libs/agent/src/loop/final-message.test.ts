import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RunEvent, systemClock } from '@hermes-fleet/protocol';
import { readFinalMessage, readJsonReply, renderClaim } from './final-message.ts';
import { createTextReporter } from './text-reporter.ts';

test('a message without an outcome block claims to be done', () => {
  const message = 'All fine.\n```sh\necho\n```';
  assert.deepEqual(readFinalMessage(message), {
    text: message,
    claim: { status: 'done', remaining: [], nextSteps: [] },
  });
});

test('an outcome block is read back as it was written, whatever it holds', () => {
  const claim = { status: 'partial' as const, remaining: ['```sh\nx\n```', 'ü "q"'], nextSteps: ['rest'] };
  assert.deepEqual(readFinalMessage(`Text.\n\n${renderClaim(claim)}\n`), { text: 'Text.', claim });
  assert.deepEqual(readFinalMessage('Text.\n```outcome\n{"status":"partial"}\n```').claim, {
    status: 'partial',
    remaining: [],
    nextSteps: [],
  });
});

test('an outcome block that cannot be read is not taken for done', () => {
  for (const block of ['nonsense', '{"status":"great"}', '']) {
    assert.equal(readFinalMessage(`x\n\`\`\`outcome\n${block}\n\`\`\``).claim, 'unreadable');
  }
});

test('a JSON reply is the whole text or its last block', () => {
  assert.deepEqual(readJsonReply(' {"a":[1]} '), { a: [1] });
  assert.deepEqual(readJsonReply('Here:\n```json\n{"a":1}\n```'), { a: 1 });
  assert.equal(readJsonReply('not json'), undefined);
});

test('text is passed on whole, in few events, without the outcome block', async () => {
  for (const size of [1, 3, 1000]) {
    const events: RunEvent[] = [];
    const reporter = createTextReporter(async (event) => void events.push(event), systemClock);
    const message = 'One\n``` code ```\ntwo\n```outcome\n{"status":"partial"}\n```\n';
    for (let at = 0; at < message.length; at += size) reporter.push(message.slice(at, at + size));
    await reporter.finish();
    assert.deepEqual(events, [{ type: 'text', text: 'One\n``` code ```\ntwo' }]);
  }
});

test('text that cannot be stored fails the step', async () => {
  const reporter = createTextReporter(async () => {
    throw new Error('disk full');
  }, systemClock);
  reporter.push('x');
  await assert.rejects(reporter.finish(), /disk full/);
});
