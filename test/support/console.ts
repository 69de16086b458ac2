/** A browser that a link has signed in. */
export interface SignedIn {
  readonly cookie: string;
  /** The document at a path below `/api`. */
  json(path: string): Promise<Record<string, unknown>>;
}

/** Opens a link to the console as a browser does. */
export async function openLink(link: string): Promise<{ status: number; browser: SignedIn | undefined }> {
  const response = await fetch(link, { redirect: 'manual' });
  await response.text();
  const cookie = response.headers.get('set-cookie')?.split(';')[0];
  if (cookie === undefined) return { status: response.status, browser: undefined };
  const json = async (path: string): Promise<Record<string, unknown>> => {
    const answer = await fetch(new URL(path, link), { headers: { cookie } });
    if (!answer.ok) throw new Error(`${path} answers ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Record<string, unknown>;
  };
  return { status: response.status, browser: { cookie, json } };
}
