/** The current switches, and listeners for their changes. */

import { parseMutationKinds } from './random-mutations.ts'
import { parseRowKinds } from './row-sample.ts'
import { parseFaultKinds } from './server/faults.ts'
import { parseSwitches, type Switches, type SwitchName } from './switches.ts'

export type SwitchSettings = {
  readonly current: () => Switches
  /** All of them or none. Throws RangeError for an unknown name or value. */
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

/** Throws RangeError if a switch names an unknown fault, change or kind of row. */
function validateSwitches(switches: Switches): Switches {
  parseFaultKinds(switches['fault.kinds'])
  parseMutationKinds(switches['move.kinds'])
  parseRowKinds(switches['misdated.of'])
  parseRowKinds(switches['late.of'])
  return switches
}
