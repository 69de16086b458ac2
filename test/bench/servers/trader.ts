import '../../../services/trader/src/main.ts';

// The trader as it is, with the configuration of `http/trader-home.ts`.
