/** The output of a run of `make demo`, as the picture shows it. */
export interface DemoRun {
  readonly profiles: readonly Profile[];
  readonly routed: Outcome & { readonly worker: string; readonly files: string; readonly command: string };
  readonly blocked: Outcome & { readonly reason: string };
  readonly passedOn: Outcome & { readonly refusals: readonly Refusal[] };
  readonly decided: { readonly decision: string; readonly copy: string };
}

export interface Profile {
  readonly name: string;
  readonly role: string;
  readonly tier: string;
  readonly model: string;
  /** Its MCP servers, each with its measured health. */
  readonly servers: string;
}

export interface Outcome {
  readonly status: string;
  readonly tokens: number;
  /** With its unit. */
  readonly took: string;
}

export interface Refusal {
  readonly peer: string;
  readonly reason: string;
}

/** Throws an Error that names the missing line, and when a step of the run did not go as expected. */
export function readRun(output: string): DemoRun {
  const unexpected = /NOT AS EXPECTED: .*/.exec(output);
  if (unexpected) throw new Error(`the run went wrong: ${unexpected[0]}`);
  const routed = block(output, 'Routed');
  const blocked = block(output, 'Blocked');
  const passedOn = block(output, 'Passed on');
  const decided = block(output, 'Decided');
  return {
    profiles: [...output.matchAll(PROFILE)].map(
      ([, name = '', role = '', tier = '', model = '', servers = '']) => ({
        name,
        role,
        tier,
        model,
        servers,
      }),
    ),
    routed: {
      ...outcome(routed),
      worker: value(routed, 'worker'),
      files: value(routed, 'files'),
      command: value(routed, 'ran'),
    },
    blocked: { ...outcome(blocked), reason: value(blocked, 'reason') },
    passedOn: {
      ...outcome(passedOn),
      refusals: [...passedOn.matchAll(/^ {2}- (\S+) +blocked: (.*)$/gm)].map(
        ([, peer = '', reason = '']) => ({
          peer,
          reason,
        }),
      ),
    },
    decided: { decision: value(decided, 'decision'), copy: value(decided, 'its copy') },
  };
}

const PROFILE = /^ {2}(\S+) +(\S+) +(\S+) +(\S+) +ready +\d+ running +MCP: (.*)$/gm;

function block(output: string, title: string): string {
  const found = output.split('\n\n').find((part) => part.startsWith(`${title}: `));
  if (found === undefined) throw new Error(`the run has no step "${title}"`);
  return found;
}

function value(step: string, name: string): string {
  const found = new RegExp(`^ {2}${name} +(\\S.*)$`, 'm').exec(step)?.[1];
  if (found === undefined) throw new Error(`the run says no "${name}" in: ${step.split('\n')[0]}`);
  return found;
}

const outcome = (step: string): Outcome => ({
  status: value(step, 'status'),
  tokens: Number(value(step, 'tokens')),
  took: value(step, 'took'),
});
