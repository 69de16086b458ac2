import { z } from 'zod';

const ignored = 'ignored, with a message at start: ';
const enabled = (instead: string) =>
  z.strictObject({ enabled: z.boolean().describe(ignored + instead) }).optional();

/** Tool switches of other Hermes deployments that have no effect here. */
export const IgnoredTools = z.object({
  tasks: enabled('tasks arrive over A2A and are kept in the ledger'),
  introspection: enabled('the prompt describes the environment'),
  models: enabled('`model` names the one model of a profile'),
});

/** Keys of other Hermes deployments' config.yaml that are accepted and ignored. */
export const IgnoredKeys = z.object({
  defaultAgent: z.string().min(1).optional().describe(`${ignored}the profile is the agent`),
  a2a_port: z
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe(`${ignored}\`fleet.server.bind_port\` of fleet.yaml is the port`),
});
