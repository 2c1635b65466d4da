# Starts a landscape of simulated devices whenever Windows starts. uaperf is no service of Windows, which would want it to
# answer the service manager: the task scheduler starts it, and again when it fails.
# As administrator: powershell -ExecutionPolicy Bypass -File landscape.ps1 -Devices C:\uaperf\devices.toml
# Away with it: Unregister-ScheduledTask -TaskName uaperf-landscape
param(
    [Parameter(Mandatory = $true)][string]$Devices,
    [string]$Program = "$env:ProgramFiles\uaperf\uaperf.exe",
    [string]$State = "$env:ProgramData\uaperf"
)
$ErrorActionPreference = "Stop"

New-Item -ItemType Directory -Force -Path $State | Out-Null
$words = "fleet serve `"$Devices`" --trust --pki `"$State\pki`" --ledger `"$State\truth.json`" --each"
$action = New-ScheduledTaskAction -Execute $Program -Argument $words -WorkingDirectory $State
$trigger = New-ScheduledTaskTrigger -AtStartup
$settings = New-ScheduledTaskSettingsSet -ExecutionTimeLimit ([TimeSpan]::Zero) -RestartCount 10 `
    -RestartInterval (New-TimeSpan -Minutes 1) -AllowStartIfOnBatteries
Register-ScheduledTask -Force -TaskName "uaperf-landscape" -Action $action -Trigger $trigger `
    -Settings $settings -User "NT AUTHORITY\LOCAL SERVICE" | Out-Null
icacls $State /grant "*S-1-5-19:(OI)(CI)M" | Out-Null
Start-ScheduledTask -TaskName "uaperf-landscape"
