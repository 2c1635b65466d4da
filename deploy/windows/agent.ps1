# Makes this host one on which agents of a fleet are started: the OpenSSH service of Windows, and uaperf in its path.
# As administrator: powershell -ExecutionPolicy Bypass -File agent.ps1 -Program .\uaperf.exe -Key "ssh-ed25519 AAAA... lab"
param(
    [Parameter(Mandatory = $true)][string]$Program,
    [Parameter(Mandatory = $true)][string]$Key,
    [string]$Folder = "$env:ProgramFiles\uaperf"
)
$ErrorActionPreference = "Stop"

New-Item -ItemType Directory -Force -Path $Folder | Out-Null
Copy-Item -Force -Path $Program -Destination (Join-Path $Folder "uaperf.exe")
$path = [Environment]::GetEnvironmentVariable("Path", "Machine")
if (($path -split ";") -notcontains $Folder) {
    [Environment]::SetEnvironmentVariable("Path", "$path;$Folder", "Machine")
}

Add-WindowsCapability -Online -Name "OpenSSH.Server~~~~0.0.1.0" | Out-Null
# Keys of administrators are in one file, which only they may change.
$keys = Join-Path $env:ProgramData "ssh\administrators_authorized_keys"
New-Item -ItemType Directory -Force -Path (Split-Path $keys) | Out-Null
if (-not (Test-Path $keys) -or -not (Select-String -SimpleMatch -Quiet -Path $keys -Pattern $Key)) {
    Add-Content -Path $keys -Value $Key
}
icacls $keys /inheritance:r /grant "Administrators:F" /grant "SYSTEM:F" | Out-Null
Set-Service -Name sshd -StartupType Automatic
# It takes the new search path along.
Restart-Service -Name sshd
