import type { TestContext } from 'node:test';
import { makePlace } from '@hermes-fleet/workspace/testing';
import type { z } from 'zod';
import type { AgentConfigSchema } from '../src/config/config-yaml.ts';
import { makeAgent, makeContext, makeTask } from './harness.ts';
import { LONG_BRIEF, longTaskStep } from './long-task.ts';
import { env, KEYED } from './scripted-server.ts';
import { windowModel } from './window-model.ts';

/** The window of a server that says none. */
export const WINDOW = 32_768;

type Options = Omit<Parameters<typeof windowModel>[1], 'window' | 'step'> & {
  readonly window?: number;
  readonly configured?: number;
  readonly step?: Parameters<typeof windowModel>[1]['step'];
  readonly limits?: z.input<typeof AgentConfigSchema>['limits'];
  readonly brief?: string;
  readonly budget?: number;
};

/** Runs a task over a model with a window, which is configured as it is unless `configured` says otherwise. */
export async function runInWindow(t: TestContext, options: Options = {}) {
  const { window = WINDOW, configured = window, step = longTaskStep, brief = LONG_BRIEF, ...rest } = options;
  const model = await windowModel(t, { window, step, ...rest });
  const place = makePlace(t);
  const guards: string[] = [];
  const stages: string[] = [];
  const config = {
    ...KEYED,
    base_url: model.url,
    context_window: configured,
    limits: { max_steps: 80, ...options.limits },
  };
  const agent = await makeAgent(t, config, {
    env,
    place,
    onGuard: (guard, level) => guards.push(`${guard} ${level}`),
    onCompaction: (stage) => stages.push(stage),
  });
  const context = makeContext(options.budget === undefined ? {} : { limit: options.budget });
  const result = await agent.executor.run(makeTask(brief), context);
  return { result, model, place, guards, stages, context };
}
