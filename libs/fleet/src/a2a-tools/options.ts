import type { Clock, Log } from '@hermes-fleet/protocol';

/** A remote agent as config.yaml registers it (`a2a.agents`). */
export interface RegisteredAgent {
  /** Its base url, or that of its agent card. May be internal: who writes config.yaml vouches for it. */
  readonly url: string;
  readonly description: string;
  /** The variable that holds the token to show to it. */
  readonly token_env?: string | undefined;
}

export interface A2AToolsOptions {
  /** The registered agents, by name. */
  readonly agents: Readonly<Record<string, RegisteredAgent>>;
  readonly env: { read(name: string): string | undefined };
  readonly clock: Clock;
  readonly log: Log;
  /** 0 to 1, for backoff; Math.random when absent. */
  readonly random?: () => number;
  /** Hosts (`host` or `host:port`) that may be called unregistered although they are internal; none when absent. */
  readonly allowInternal?: readonly string[];
  /** How long an agent may be away before a call to it is given up, ms; a minute when absent. */
  readonly agentDownAfterMs?: number;
}
