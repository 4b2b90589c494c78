/** The switches as they are now, and who has to know when one is moved. */

import { parseMutationKinds } from './random-mutations.ts'
import { parseFaultKinds } from './server/faults.ts'
import { type Switches, type SwitchName, parseSwitches } from './switches.ts'
import { parseRowKinds } from './view.ts'

export type SwitchSettings = {
  readonly current: () => Switches
  /** All of them or none. Throws a RangeError for a name or value that no switch has. */
  readonly set: (given: Partial<Switches>) => void
  readonly onChange: (listener: (names: readonly SwitchName[]) => void) => void
}

export function createSwitchSettings(given: Partial<Switches>): SwitchSettings {
  let switches = validateSwitches(parseSwitches(given))
  const listeners: ((names: readonly SwitchName[]) => void)[] = []
  return {
    current: () => switches,
    set(changes) {
      switches = validateSwitches(parseSwitches(changes, switches))
      for (const listener of listeners) listener(Object.keys(changes) as SwitchName[])
    },
    onChange: (listener) => {
      listeners.push(listener)
    },
  }
}

/** Throws a RangeError where a switch names a fault, a change or a kind of row that does not exist. */
function validateSwitches(switches: Switches): Switches {
  parseFaultKinds(switches['fault.kinds'])
  parseMutationKinds(switches['move.kinds'])
  parseRowKinds(switches['misdated.of'])
  parseRowKinds(switches['late.of'])
  return switches
}
