/** A recording of a terminal in the format asciicast v2 (https://docs.asciinema.org/manual/asciicast/v2/). */
export interface Cast {
  readonly width: number;
  readonly height: number;
  readonly title: string;
  /** The output of the terminal, each piece with the seconds since the start. */
  readonly output: readonly (readonly [at: number, text: string])[];
}

export function writeCast({ output, ...header }: Cast): string {
  const lines = [{ version: 2, ...header }, ...output.map(([at, text]) => [at, 'o', text])];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

export function readCast(text: string): Cast {
  const [header, ...events] = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const { width, height, title } = header;
  return { width, height, title, output: events.map(([at, , written]) => [at, written]) };
}
