import { join } from 'node:path';
import { OFFLINE } from '../command-line/model-options.ts';
import type { ModelChoice } from '../folder/profile-files.ts';
import { ORCHESTRATOR } from '../keys/layout.ts';
import { examine } from '../local/entry-point.ts';
import { commandOf, planFleet, serviceEnv } from '../local/plan.ts';

/** Whether the model of a new fleet can be used, in words for a person. */
export interface TestedModel {
  readonly isOk: boolean;
  readonly lines: readonly string[];
}

/** Calls the model once, as a profile of the fleet in `root` does (docs/operations.md#diagnose-a-profile-fleet-doctor). */
export async function testModel(
  root: string,
  { model }: ModelChoice,
  env: NodeJS.ProcessEnv,
): Promise<TestedModel> {
  if (model === OFFLINE)
    return {
      isOk: true,
      lines: [`${OFFLINE} calls nothing and costs nothing: briefs carry the files and commands`],
    };
  const plan = planFleet({ root });
  const member = plan.profiles.find(({ name }) => name === ORCHESTRATOR) ?? plan.console;
  const entryPoint = { command: commandOf(ORCHESTRATOR), cwd: plan.home, env: serviceEnv(plan, member, env) };
  const { findings } = await examine(ORCHESTRATOR, entryPoint, ['--call']);
  const ofModel = findings.filter(
    ({ subject, check }) => subject === 'model' && (check === 'call' || check === 'key'),
  );
  const ofFiles = findings.filter(({ subject, state }) => subject === 'configuration' && state === 'failed');
  const told = [...ofFiles, ...ofModel].map(({ detail }) => detail);
  const isOk = ofModel.length > 0 && [...ofFiles, ...ofModel].every(({ state }) => state === 'ok');
  if (isOk) return { isOk, lines: told.map((detail) => `the model works: ${detail}`) };
  return {
    isOk,
    lines: [
      ...told.map((detail) => `the model does not work: ${detail}`),
      `the folder stays: correct ${join(root, 'profiles/*/config.yaml')} or the key in .env.local, then fleet doctor --call tests it again`,
    ],
  };
}
