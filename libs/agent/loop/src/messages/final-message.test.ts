import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RunEvent, systemClock } from '@hermes-fleet/protocol/ports';
import { createTextReporter } from '../conversation/text-reporter.ts';
import { readFinalMessage, readJsonReply, renderClaim } from './final-message.ts';

test('a message without an outcome block claims to be done', () => {
  const message = 'All fine.\n```sh\necho\n```';
  assert.deepEqual(readFinalMessage(message), {
    text: message,
    claim: { status: 'done', remaining: [], nextSteps: [] },
    stated: false,
  });
});

test('a rendered outcome block is read back unchanged', () => {
  const claim = { status: 'partial' as const, remaining: ['```sh\nx\n```', 'ü "q"'], nextSteps: ['rest'] };
  assert.deepEqual(readFinalMessage(`Text.\n\n${renderClaim(claim)}\n`), {
    text: 'Text.',
    claim,
    stated: true,
  });
  assert.deepEqual(readFinalMessage('Text.\n```outcome\n{"status":"partial"}\n```').claim, {
    status: 'partial',
    remaining: [],
    nextSteps: [],
  });
});

test('an unreadable outcome block is not taken for done', () => {
  for (const block of ['nonsense', '{"status":"great"}', '']) {
    assert.equal(readFinalMessage(`x\n\`\`\`outcome\n${block}\n\`\`\``).claim, 'unreadable');
  }
});

test('an outcome block is found in every Markdown notation for fences', () => {
  const json = '{"status":"partial","remaining":["x"]}';
  const blocks = [
    `\`\`\`outcome\r\n${json}\r\n\`\`\`\r\n`,
    `\`\`\` outcome\n${json}\n\`\`\``,
    `  \`\`\`outcome \n${json}\n  \`\`\``,
    `\`\`\`\`outcome\n${json}\n\`\`\`\``,
    `~~~outcome\n${json}\n~~~`,
    `\`\`\`outcome\n${json}`,
  ];
  const claim = { status: 'partial', remaining: ['x'], nextSteps: [] };
  for (const block of blocks) {
    const read = readFinalMessage(`Half.\r\n${block}`);
    assert.deepEqual(read, { text: 'Half.', claim, stated: true }, JSON.stringify(block));
  }
  const unclosed = readFinalMessage(`Ran:\n\`\`\`sh\nmake\n${blocks[1]}`);
  assert.deepEqual(unclosed, { text: 'Ran:\n```sh\nmake', claim, stated: true });
});

test("a quoted outcome block is not taken for the message's own", () => {
  const own = '```outcome\n{"status":"partial","remaining":["x"]}\n```';
  const quote = '````\n```outcome\n{"status":"done"}\n```\n````';
  for (const message of [
    `The file says:\n${quote}\nHalf.\n${own}`,
    `Half.\n${own}\nThe file says:\n${quote}`,
  ]) {
    const { claim } = readFinalMessage(message);
    assert.deepEqual(claim, { status: 'partial', remaining: ['x'], nextSteps: [] }, message);
  }
  assert.equal(readFinalMessage(`The file says:\n${quote}\nHalf.\n${own}`).text.endsWith('Half.'), true);
});

test('a claimed pull request is read, and a value that is not an address is refused', () => {
  const read = (pr: string) =>
    readFinalMessage(`x\n\`\`\`outcome\n{"status":"done","pr":${pr}}\n\`\`\``).claim;
  assert.deepEqual(read('"https://git.invalid/pr/1"'), {
    status: 'done',
    remaining: [],
    nextSteps: [],
    pr: 'https://git.invalid/pr/1',
  });
  assert.deepEqual(read('null'), { status: 'done', remaining: [], nextSteps: [] });
  assert.equal(read('7'), 'unreadable');
});

test('a JSON reply is the whole text or its last block', () => {
  assert.deepEqual(readJsonReply(' {"a":[1]} '), { a: [1] });
  assert.deepEqual(readJsonReply('Here:\n```json\n{"a":1}\n```'), { a: 1 });
  assert.equal(readJsonReply('null'), null);
  assert.equal(readJsonReply('not json'), undefined);
  assert.deepEqual(readJsonReply('```json\n{"a":1}\n```\nIt came from\n```sh\nmake\n```'), { a: 1 });
  assert.deepEqual(readJsonReply('```json\n{"a":1}\n```\nIt printed\n```text\n42\n```'), { a: 1 });
  assert.deepEqual(readJsonReply('```JSON\n{"a":1}\n```\n```\n{"b":1}\n```'), { b: 1 });
  assert.equal(readJsonReply('It is {"a":1} I think.'), undefined);
});

test('text is reported whole, in few events, without the outcome block', async () => {
  for (const size of [1, 3, 1000]) {
    const events: RunEvent[] = [];
    const reporter = createTextReporter(async (event) => void events.push(event), systemClock);
    const message = 'One\n``` code ```\ntwo\n```outcome\n{"status":"partial"}\n```\n';
    for (let at = 0; at < message.length; at += size) reporter.push(message.slice(at, at + size));
    await reporter.finish();
    assert.deepEqual(events, [{ type: 'text', text: 'One\n``` code ```\ntwo' }]);
  }
});

test('text is reported up to the outcome block, and past a quoted one', async () => {
  const quote = 'It says:\n````\n```outcome\n{}\n```\n````\nHalf.';
  const timer = (fn: () => void): Disposable => {
    queueMicrotask(fn);
    return { [Symbol.dispose]() {} };
  };
  for (const [message, text] of [
    [`${quote}\n\`\`\`outcome\n{}\n\`\`\``, quote],
    ['Half.\n~~~ outcome\n{}\n~~~', 'Half.'],
    ['One\n```outcomes\nx\n```\ntwo\n~', 'One\n```outcomes\nx\n```\ntwo\n~'],
    ['```outcome\n{}\n```', ''],
  ]) {
    assert.ok(message !== undefined);
    let shown = '';
    const reporter = createTextReporter(
      async (event) => {
        if (event.type === 'text') shown += event.text;
      },
      { ...systemClock, timer },
    );
    for (const letter of message) {
      reporter.push(letter);
      await Promise.resolve();
    }
    await reporter.finish();
    assert.equal(shown, text, JSON.stringify(message));
  }
});

test('text is reported at once, even while an earlier report is pending', async () => {
  const slow = Promise.withResolvers<void>();
  const asked: string[] = [];
  const reporter = createTextReporter(async (event) => {
    if (event.type === 'text') asked.push(event.text);
    await slow.promise;
  }, systemClock);
  reporter.push('one');
  const first = reporter.finish();
  reporter.push('two');
  const second = reporter.finish();
  assert.deepEqual(asked, ['one', 'two']);
  slow.resolve();
  await Promise.all([first, second]);
});

test('a report that fails rejects the reporter', async () => {
  const reporter = createTextReporter(async () => {
    throw new Error('disk full');
  }, systemClock);
  reporter.push('x');
  await assert.rejects(reporter.finish(), /disk full/);
});
