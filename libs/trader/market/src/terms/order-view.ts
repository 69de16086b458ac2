/** An order of the paper market, as people see it. Amounts are decimal strings. */
export interface OrderView {
  readonly id: string;
  readonly strategyId: string;
  readonly side: 'buy' | 'sell';
  readonly kind: 'market' | 'limit';
  /** `entry` opens or adds, `exit` protects or reduces. */
  readonly purpose: 'entry' | 'exit';
  readonly quantity: string;
  readonly limitPrice?: string;
  readonly state: 'open' | 'filled' | 'canceled' | 'rejected';
  readonly fillPrice?: string;
  readonly fee?: string;
  /** Why the order was rejected, canceled or reduced. */
  readonly reason?: string;
  /** RFC 3339 times of the bar in which the order was placed and the bar that ended it. */
  readonly placedAt: string;
  readonly endedAt?: string;
}
