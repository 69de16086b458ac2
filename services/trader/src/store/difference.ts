/** A row that differs from what the audit says. */
export interface Difference {
  readonly table: string;
  readonly row: string;
  readonly reason: string;
}
