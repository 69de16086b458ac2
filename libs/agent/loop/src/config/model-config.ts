import { isClientHeader } from '@hermes-fleet/net';
import { z } from 'zod';

/** Long by default: a server that reads a long prompt on a CPU sends nothing for minutes. */
const silence = z.number().min(1).max(3_600).default(600);

/** How patient a call of the model is: docs/agent.md#calls-that-fail. */
export const ModelCallsConfig = z.strictObject({
  /** How long a call is repeated that the provider refuses for the moment, or that does not reach it; 0: not at all. */
  patience_s: z.number().min(0).max(86_400).default(600),
  /** The same for a task that has spent nothing, while the provider is down: another worker may do it. */
  new_task_patience_s: z.number().min(0).max(86_400).default(10),
  /** How often an answer that broke off is asked for again. */
  broken_answers: z.int().min(0).max(10).default(2),
  first_token_s: silence,
  idle_s: silence,
});

/** Code of another provider, of the `ai` family: docs/agent.md#other-providers. */
const ProviderPackage = z.strictObject({
  package: z
    .string()
    .regex(
      /^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*$/,
      'must be the name of an npm package, e.g. @ai-sdk/google',
    ),
  /** The function of the package that creates the provider; default: its only one that begins with `create`. */
  factory: z.string().min(1).optional(),
  /** Passed to that function. */
  options: z.record(z.string(), z.json()).default({}),
});

/** The keys of config.yaml that describe one model and how it is called. */
export const modelKeys = {
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  api_key_env: z.string().min(1).optional(),
  /** In tokens. */
  context_window: z.int().min(1000).optional(),
  provider: ProviderPackage.optional(),
  /** Sent with every request to the provider. */
  headers: z
    .record(
      z
        .string()
        .regex(/^[\w-]+$/, 'must be the name of a header')
        .refine((name) => !isClientHeader(name), 'is set by the client: leave it out'),
      z.string(),
    )
    .default({}),
  /** Added to the JSON of every call. */
  extra_body: z.record(z.string(), z.json()).default({}),
  /** Lets Anthropic keep the prompt for the next call. */
  prompt_cache: z.boolean().default(true),
  temperature: z.number().min(0).max(2).optional(),
  /** How much the model thinks, where it can. */
  effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).optional(),
};

/** A model that is called when those before it cannot be: its name, or its name and its own keys. */
export const FallbackModel = z.union([
  z
    .string()
    .min(1)
    .transform((model) => z.strictObject({ model: z.string(), ...modelKeys }).parse({ model })),
  z.strictObject({ model: z.string().min(1), ...modelKeys }),
]);
