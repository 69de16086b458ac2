import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  filesToVerify,
  followUpKind,
  objectionsPrompt,
  repairPrompt,
  verdictPrompt,
  verifyPrompt,
  wrapUpPrompt,
} from './asks.ts';
import { taskMessage } from './task-message.ts';

test('what the loop asks is told apart by its first words', () => {
  assert.equal(followUpKind(wrapUpPrompt(500)), 'wrap_up');
  assert.equal(followUpKind(verifyPrompt({ files: ['a.txt'], why: undefined })), 'verify');
  assert.equal(followUpKind(repairPrompt(['the reply is not JSON'], 'Reply with JSON.')), 'repair');
  assert.equal(followUpKind(objectionsPrompt(['wrong'])), 'objections');
  assert.equal(followUpKind(verdictPrompt()), 'verdict');
  assert.equal(followUpKind(taskMessage(wrapUpPrompt(500))), undefined, 'a brief is none, whatever it says');
});

test('a long list of files is cut', () => {
  const files = Array.from({ length: 30 }, (_, index) => `${index}.txt`);
  const text = verifyPrompt({ files, why: undefined });
  assert.match(text, / 0\.txt, .*, 19\.txt and 10 more\. /);
  assert.deepEqual(filesToVerify(text), files.slice(0, 20));
});

test('what is to be verified can be read from the question, with what does not count', () => {
  const ask = verifyPrompt({
    files: ['a.txt', 'b/c.md', '`git apply x`'],
    why: '`npm test` did not succeed',
  });
  assert.match(
    ask,
    /^Not verified yet\. .* of a\.txt, b\/c\.md, `git apply x`\. `npm test` did not succeed\. Run a check/,
  );
  assert.deepEqual(filesToVerify(ask), ['a.txt', 'b/c.md']);
  assert.deepEqual(filesToVerify(wrapUpPrompt(5)), []);
});
