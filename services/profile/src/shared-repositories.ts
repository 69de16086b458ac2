import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { createProblems } from '@hermes-fleet/gateway/member';
import {
  type AgentConfig,
  isContextPlaceholder,
  nameProblems,
  repositoryProblems,
  SharedRepositories,
  withFilesIn,
} from '@hermes-fleet/loop';
import { loadYamlConfig, type SecretEnv, type YamlConfig } from '@hermes-fleet/service';
import type { Environment } from './environment.ts';

/** The repositories of all profiles, in the folder that holds the profiles' folders. It need not exist. */
const SHARED_FILE = 'repositories.yaml';

/**
 * Completes the repositories of a profile whose tasks have files: with those of all profiles, which its own of the same names replace,
 * and with absolute paths (docs/configuration.md#repositories). Adds everything that is wrong with them to `problems`.
 */
export function completeRepositories(
  { value: { workspace, tools }, locate }: YamlConfig<AgentConfig>,
  { dir }: Pick<Environment, 'dir'>,
  env: SecretEnv,
  problems: ReturnType<typeof createProblems>,
): void {
  const folder = dirname(dir);
  const file = join(folder, SHARED_FILE);
  const shared = existsSync(file)
    ? problems.attempt(() =>
        loadYamlConfig({ file, schema: SharedRepositories, env, isKept: isContextPlaceholder }),
      )
    : undefined;
  const own = withFilesIn(workspace.repositories, dir);
  const all = { ...withFilesIn(shared?.value.repositories ?? {}, folder), ...own };
  const others = Object.fromEntries(Object.entries(all).filter(([name]) => !Object.hasOwn(own, name)));
  const add = (repositories: typeof all, prefix: string, at: typeof locate): void =>
    problems.add(
      repositoryProblems(repositories, tools, env).map(({ path, reason }) => ({
        path: at(`${prefix}.${path}`),
        reason,
      })),
    );
  add(own, 'workspace.repositories', locate);
  if (shared !== undefined) {
    add(others, 'repositories', shared.locate);
    const names = nameProblems([...Object.keys(own), ...Object.keys(others)]);
    problems.add(
      names.map(({ name, message: reason }) => ({ path: shared.locate(`repositories.${name}`), reason })),
    );
  }
  workspace.repositories = all;
}
