import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  filesToVerify,
  objectionsAsk,
  readAsk,
  repairAsk,
  verdictAsk,
  verifyAsk,
  wrapUpAsk,
} from './asks.ts';
import { taskMessage } from './task-message.ts';

test('what the loop asks is told apart by its first words', () => {
  assert.equal(readAsk(wrapUpAsk(500)), 'wrap_up');
  assert.equal(readAsk(verifyAsk({ files: ['a.txt'], why: undefined })), 'verify');
  assert.equal(readAsk(repairAsk(['the reply is not JSON'], 'Reply with JSON.')), 'repair');
  assert.equal(readAsk(objectionsAsk(['wrong'])), 'objections');
  assert.equal(readAsk(verdictAsk()), 'verdict');
  assert.equal(readAsk(taskMessage(wrapUpAsk(500))), undefined, 'a brief is none, whatever it says');
});

test('a long list of files is cut', () => {
  const files = Array.from({ length: 30 }, (_, index) => `${index}.txt`);
  const text = verifyAsk({ files, why: undefined });
  assert.match(text, / 0\.txt, .*, 19\.txt and 10 more\. /);
  assert.deepEqual(filesToVerify(text), files.slice(0, 20));
});

test('what is to be verified can be read from the question, with what does not count', () => {
  const ask = verifyAsk({ files: ['a.txt', 'b/c.md', '`git apply x`'], why: '`npm test` did not succeed' });
  assert.match(
    ask,
    /^Not verified yet\. .* of a\.txt, b\/c\.md, `git apply x`\. `npm test` did not succeed\. Run a check/,
  );
  assert.deepEqual(filesToVerify(ask), ['a.txt', 'b/c.md']);
  assert.deepEqual(filesToVerify(wrapUpAsk(5)), []);
});
