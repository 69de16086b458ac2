import { z } from 'zod';

const enabled = z.strictObject({ enabled: z.boolean() }).optional();

/** Tool switches of other Hermes deployments that have no effect here. */
export const IgnoredTools = z.object({ tasks: enabled, introspection: enabled, models: enabled });

/** Keys of other Hermes deployments' config.yaml that are accepted and ignored. */
export const IgnoredKeys = z.object({
  defaultAgent: z.string().min(1).optional(),
  a2a_port: z.int().min(1).max(65_535).optional(),
});
