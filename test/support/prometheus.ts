/** One series of an instant query: its labels, and the value as Prometheus writes it. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [at: number, value: string];
}

export interface Prometheus {
  /** An instant query, whose error is thrown as Prometheus words it. */
  query(expr: string): Promise<readonly Sample[]>;
  /** The value of the only series, or undefined while there is none. */
  value(expr: string): Promise<number | undefined>;
}

/** The query API of a Prometheus at this address. */
export function prometheus(url: string): Prometheus {
  const query = async (expr: string): Promise<readonly Sample[]> => {
    const reply = await fetch(`${url}/api/v1/query`, {
      method: 'POST',
      body: new URLSearchParams({ query: expr }),
      signal: AbortSignal.timeout(10_000),
    });
    const body: { status: string; error?: string; data?: { result: Sample[] } } = JSON.parse(
      await reply.text(),
    );
    if (body.status !== 'success' || !body.data) throw new Error(`${expr}: ${body.error}`);
    return body.data.result;
  };
  return {
    query,
    value: async (expr) => {
      const [first] = await query(expr);
      return first === undefined ? undefined : Number(first.value[1]);
    },
  };
}
