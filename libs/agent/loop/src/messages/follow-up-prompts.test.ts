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
} from './follow-up-prompts.ts';
import { taskMessage } from './task-message.ts';

const BUDGET = { limit: 'budget', leftTokens: 500 } as const;

test('a follow-up prompt is recognized by its first words', () => {
  assert.equal(followUpKind(wrapUpPrompt(BUDGET)), 'wrap_up');
  assert.equal(followUpKind(verifyPrompt({ files: ['a.txt'], why: undefined })), 'verify');
  assert.equal(followUpKind(repairPrompt(['the reply is not JSON'], 'Reply with JSON.')), 'repair');
  assert.equal(followUpKind(objectionsPrompt(['wrong'])), 'objections');
  assert.equal(followUpKind(verdictPrompt(BUDGET)), 'verdict');
  assert.equal(
    followUpKind(taskMessage(wrapUpPrompt(BUDGET))),
    undefined,
    'a task is not a follow-up prompt, whatever its brief says',
  );
});

test('a verify prompt names at most 20 files', () => {
  const files = Array.from({ length: 30 }, (_, index) => `${index}.txt`);
  const text = verifyPrompt({ files, why: undefined });
  assert.match(text, / 0\.txt, .*, 19\.txt and 10 more\. /);
  assert.deepEqual(filesToVerify(text), files.slice(0, 20));
});

test('the files to verify are parsed from a verify prompt that says why a check does not count', () => {
  const prompt = verifyPrompt({
    files: ['a.txt', 'b/c.md', '`git apply x`'],
    why: '`npm test` did not succeed',
  });
  assert.match(
    prompt,
    /^Not verified yet\. .* of a\.txt, b\/c\.md, `git apply x`\. `npm test` did not succeed\. Run a check/,
  );
  assert.deepEqual(filesToVerify(prompt), ['a.txt', 'b/c.md']);
  assert.deepEqual(filesToVerify(wrapUpPrompt(BUDGET)), []);
});
