import { playTopic } from './play.ts';

playTopic('calls');
