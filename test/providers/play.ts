import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { makeAgent, makeContext, makeTask } from '@hermes-fleet/loop/testing';
import { type Clock, type RunOutcome, systemClock } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { startAnswering } from './answering.ts';
import { checkBooked, checkRequests, checkResult } from './outcome.ts';
import { readTranscript, type Transcript } from './transcript.ts';

const CORPUS = join(import.meta.dirname, 'corpus');
export const BRIEF = 'Write the sum of 2 and 2 to sum.txt, check it with grep, and mend it if it is wrong.';
export const MODEL = { model: 'openai-compatible/m', api_key_env: 'MODEL_KEY', context_window: 128_000 };

/** The path and the configuration of models that speak a dialect. */
const SPEAKING = {
  chat: { path: '/v1' },
  anthropic: { path: '', model: 'anthropic/claude-m' },
  google: { path: '/v1beta', model: 'google/gemini-m', provider: { package: '@ai-sdk/google' } },
  responses: { path: '/v1', model: 'openai/gpt-m', provider: { package: '@ai-sdk/openai' } },
} as const;

/** The topics of the corpus: each is a folder of transcripts. */
export const topics = (): string[] => readdirSync(CORPUS).toSorted();

/** The transcript of this topic and name. */
export const transcript = (topic: string, name: string): Transcript =>
  readTranscript(join(CORPUS, topic, `${name}.txt`));

/** Plays all transcripts of a topic through an agent each, as tests. */
export function playTopic(topic: string): void {
  const names = readdirSync(join(CORPUS, topic)).map((file) => file.replace(/\.txt$/, ''));
  describe(topic, { concurrency: 8 }, () => {
    for (const name of names.toSorted())
      it(name, { timeout: 60_000 }, (t) => play(t, transcript(topic, name)));
  });
}

async function play(t: TestContext, script: Transcript): Promise<void> {
  const server = await startAnswering(t, script);
  const { path, ...own } = SPEAKING[script.dialect];
  const variables: Readonly<Record<string, string>> = {
    MODEL_KEY: 'key-1',
    HERMES_HOME: folderWithPackages(t),
  };
  const agent = await makeAgent(
    t,
    { ...MODEL, ...own, ...script.config, base_url: `${server.url}${path}` },
    { env: { read: (name) => variables[name] }, clock: hurriedClock() },
  );
  const context = makeContext({ limit: 1_000_000 });
  const { replySchema } = script;
  const result: RunOutcome = await agent.executor.run(
    makeTask(BRIEF, { task: replySchema === undefined ? {} : { replySchema } }),
    context,
  );
  checkRequests(script, server);
  checkResult(script, result, (path) => fileIn(agent.place.workspaceRoot, path));
  checkBooked(script, context.budget.usage());
}

/** A fleet folder with the packages of this checkout. */
function folderWithPackages(t: TestContext): string {
  const folder = tempDir(t);
  mkdirSync(join(folder, 'packages'));
  symlinkSync(resolve(import.meta.dirname, '../../node_modules'), join(folder, 'packages/node_modules'));
  return folder;
}

/** A file of the only context. */
function fileIn(workspaceRoot: string, path: string): string | undefined {
  const contexts = join(workspaceRoot, 'contexts');
  const [name = assert.fail('no context was opened')] = readdirSync(contexts);
  const tree = join(contexts, name, 'tree');
  return readdirSync(tree).includes(path) ? readFileSync(join(tree, path), 'utf8') : undefined;
}

const HURRY = 100;

/** A clock on which the waits between two attempts pass a hundred times as fast. */
function hurriedClock(): Clock {
  let skipped = 0;
  return {
    ...systemClock,
    now: () => systemClock.now() + skipped,
    monotonic: () => systemClock.monotonic() + skipped,
    sleep: async (ms, signal) => {
      await systemClock.sleep(ms / HURRY, signal);
      skipped += ms - ms / HURRY;
    },
  };
}
