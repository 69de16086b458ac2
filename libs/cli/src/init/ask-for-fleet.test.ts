import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { CTRL_C, DOWN, ENTER, openTerminal } from '../../../../test/support/terminal.ts';

const MAIN = join(import.meta.dirname, '../main.ts');
/** Nothing listens there. */
const NO_MODEL = 'http://127.0.0.1:1/v1';

test('on a terminal init asks again for what cannot be, and never shows the key', async (t) => {
  const root = join(tempDir(t), 'f');
  const terminal = openTerminal(t, [process.execPath, MAIN, 'init', root]);
  const answer = async (question: RegExp, keys: string): Promise<void> => {
    await terminal.waitFor(question);
    terminal.type(keys);
  };
  const chosen = (label: string) => new RegExp(`●[^\n]*${label}`);
  await answer(/to navigate/, DOWN);
  for (const model of ['Anthropic', 'OpenAI', 'OpenRouter']) await answer(chosen(model), DOWN);
  await answer(chosen('another API'), ENTER);
  await answer(/Name of the model/, ENTER);
  await answer(/write one, without spaces/, `qwen${ENTER}`);
  await answer(/Address of its API/, `127.0.0.1${ENTER}`);
  await answer(/must be an http or https address/, `\u0015${NO_MODEL}${ENTER}`);
  await answer(/Key of the model/, `sk-of-the-test${ENTER}`);
  await answer(/A repository that tasks may name/, `${tempDir(t)}${ENTER}`);
  await answer(/has no origin with an https address/, `\u0015git@forge.example:o/app.git${ENTER}`);
  await answer(/Its branch/, ENTER);
  await answer(/Variable with its token/, `ghp not a name${ENTER}`);
  await answer(/not the token/, `\u0015APP_TOKEN${ENTER}`);
  await answer(/Profiles, with switch/, `, Two Words${ENTER}`);
  await answer(/Two Words is not a name/, `\u0015switch,coder${ENTER}`);
  await answer(/With the paper trader/, ENTER);
  await terminal.waitFor(/APP_TOKEN/);
  assert.equal(await terminal.ended, 1, 'the model does not answer');
  assert.match(terminal.screen(), /the model does not work/);
  assert.doesNotMatch(terminal.screen(), /of-the-test/);
  const local = join(root, '.env.local');
  assert.match(readFileSync(local, 'utf8'), /^MODEL_API_KEY=sk-of-the-test\n#APP_TOKEN=$/m);
  assert.equal(statSync(local).mode & 0o777, 0o600);
  assert.match(
    readFileSync(join(root, 'profiles/repositories.yaml'), 'utf8'),
    /app:\n {4}url: "https:\/\/forge\.example\/o\/app\.git"\n {4}base: main\n {4}token_env: APP_TOKEN/,
  );
  assert.match(
    readFileSync(join(root, 'profiles/coder/config.yaml'), 'utf8'),
    /model: openai-compatible\/qwen/,
  );
});

test('Ctrl-C at a question writes nothing', async (t) => {
  const root = join(tempDir(t), 'f');
  const terminal = openTerminal(t, [process.execPath, MAIN, 'init', root]);
  await terminal.waitFor(/to navigate/);
  terminal.type(ENTER);
  await terminal.waitFor(/A repository that tasks may name/);
  terminal.type(CTRL_C);
  await terminal.waitFor(/fleet: nothing was written/);
  assert.equal(await terminal.ended, 1);
  assert.equal(existsSync(root), false);
});
