/** A repository at a forge, as it is configured (docs/configuration.md#repositories). */
export interface Remote {
  readonly name: string;
  /** https, or http on this machine; without a password. */
  readonly url: string;
  /** The branch that contexts start from. */
  readonly base: string;
  /** True if a task may name this branch in its place. */
  allows(branch: string): boolean;
  /** How many commits of a branch's history are fetched; 0: all. */
  readonly depth: number;
  /** A context may start from the commit that was fetched last while the remote cannot be reached. */
  readonly allowsStaleBase: boolean;
  /** Certificates of the authorities that sign the remote's; undefined: those of the system. */
  readonly caFile?: string | undefined;
  /** Where the token is configured, for errors: "token_env (WEB_TOKEN)"; undefined: nowhere. */
  readonly tokenName?: string | undefined;
  /** Reads the token for the remote, at each fetch; undefined: none is sent. Throws CONFIG_INVALID. */
  token(): string | undefined;
}
