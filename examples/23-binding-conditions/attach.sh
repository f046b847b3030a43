#!/bin/sh
# What a fabric's controller does: reports how attaching the device of a claim went.
# Usage: attach.sh CLAIM attached|failed MESSAGE
set -e
result='.status.allocation.devices.results[0]'
pool=$(kubectl get resourceclaim "$1" -o jsonpath="{$result.pool}")
device=$(kubectl get resourceclaim "$1" -o jsonpath="{$result.device}")
now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
kubectl patch resourceclaim "$1" --subresource=status --type=merge --patch "
status:
  devices:
  - driver: fabric.simulated.dev
    pool: $pool
    device: $device
    conditions:
    - type: fabric.simulated.dev/$2
      status: 'True'
      reason: Fabric
      message: $3
      lastTransitionTime: $now"
