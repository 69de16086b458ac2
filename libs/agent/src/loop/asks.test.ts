import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objectionsAsk, readAsk, repairAsk, verdictAsk, verifyAsk, wrapUpAsk } from './asks.ts';
import { taskMessage } from './prompt.ts';

test('what the loop asks is told apart by its first words', () => {
  assert.equal(readAsk(wrapUpAsk(500)), 'wrap_up');
  assert.equal(readAsk(verifyAsk(['a.txt'])), 'verify');
  assert.equal(readAsk(repairAsk(['the reply is not JSON'], 'Reply with JSON.')), 'repair');
  assert.equal(readAsk(objectionsAsk(['wrong'])), 'objections');
  assert.equal(readAsk(verdictAsk()), 'verdict');
  assert.equal(readAsk(taskMessage(wrapUpAsk(500))), undefined, 'a brief is none, whatever it says');
});

test('a long list of files is cut', () => {
  const text = verifyAsk(Array.from({ length: 30 }, (_, index) => `${index}.txt`));
  assert.match(text, / 0\.txt, .*, 19\.txt and 10 more\. /);
});
