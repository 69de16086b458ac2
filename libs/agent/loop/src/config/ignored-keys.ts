import { z } from 'zod';

const enabled = z.strictObject({ enabled: z.boolean() }).optional();

/** Tool switches of other Hermes deployments that have no effect here. */
export const IgnoredTools = z.object({ tasks: enabled, introspection: enabled, models: enabled });

/** Keys of other Hermes deployments' config.yaml that are accepted and ignored. */
export const IgnoredKeys = z.object({
  defaultAgent: z.string().min(1).optional(),
  a2a_port: z.int().min(1).max(65_535).optional(),
});

interface WithIgnoredKeys {
  readonly model: string;
  readonly executor: 'loop' | 'claude-code';
  readonly effort?: string | undefined;
  readonly defaultAgent?: string | undefined;
  readonly a2a: { readonly port?: number | undefined };
  readonly tools: Partial<Record<keyof typeof IgnoredTools.shape, unknown>>;
}

/** One line for each accepted key that has no effect, with the replacement (docs/configuration.md#configyaml). */
export function ignoredKeyNotes(config: WithIgnoredKeys): string[] {
  const { effort, defaultAgent, a2a, tools } = config;
  const thinks = config.executor === 'loop' && config.model !== 'offline/runbook';
  const noted: readonly (readonly [key: string, value: unknown, instead: string])[] = [
    ['effort', thinks ? undefined : effort, 'only the loop passes it on, and only to a model that is called'],
    ['defaultAgent', defaultAgent, 'the profile is the agent: its folder holds IDENTITY.md'],
    ['a2a.port', a2a.port, 'fleet.server.bind_port of fleet.yaml is the port'],
    ['tools.tasks', tools.tasks, 'tasks come over A2A, and are kept in the ledger'],
    [
      'tools.introspection',
      tools.introspection,
      'the prompt describes the environment, and metrics show the rest',
    ],
    ['tools.models', tools.models, '`model` names the one model of a profile'],
  ];
  return noted
    .filter(([, value]) => value !== undefined)
    .map(([key, , instead]) => `config.yaml ${key} has no effect here: ${instead}`);
}
